//! Turns a memory fault of a lane (a stack overflow, a wild pointer) into the end of that lane.
//!
//! A handler for SIGSEGV and SIGBUS is installed once. Where the fault came from a lane, the handler lets
//! the lane's coroutine return; every other fault goes to the handler that was there before.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use imp::install;

/// Elsewhere the executor only sees overflows at its own calls.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn install() {}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    use std::cell::Cell;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;

    use corosensei::trap::TrapHandlerRegs;
    use libc::{c_int, c_void, sigaction, siginfo_t, ucontext_t};

    use crate::lane::{self, Exit};

    const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
    static PREVIOUS: OnceLock<[sigaction; 2]> = OnceLock::new();

    /// Installs the handler in the process, and a signal stack on this thread if it has none.
    pub(crate) fn install() {
        thread_local!(static DONE: Cell<bool> = const { Cell::new(false) });
        if DONE.replace(true) {
            return;
        }
        give_thread_a_signal_stack();
        PREVIOUS.get_or_init(|| SIGNALS.map(install_one));
    }

    fn install_one(signal: c_int) -> sigaction {
        // SAFETY: a zeroed sigaction is valid (no flags, empty mask); `on_fault` has the signature that
        // SA_SIGINFO asks for and calls nothing that is not async-signal-safe.
        unsafe {
            let mut action: sigaction = MaybeUninit::zeroed().assume_init();
            let mut previous: sigaction = MaybeUninit::zeroed().assume_init();
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, &raw mut previous);
            previous
        }
    }

    /// The handler cannot run on a stack that has just overflowed. Rust's own threads have a signal stack.
    fn give_thread_a_signal_stack() {
        const BYTES: usize = 64 << 10;
        // SAFETY: `sigaltstack` reads and writes one `stack_t` each; the memory given to it is leaked, so
        // that it outlives the thread.
        unsafe {
            let mut current: libc::stack_t = MaybeUninit::zeroed().assume_init();
            if libc::sigaltstack(std::ptr::null(), &raw mut current) != 0
                || current.ss_flags & libc::SS_DISABLE == 0
            {
                return;
            }
            let memory = Box::leak(vec![0_u8; BYTES].into_boxed_slice());
            let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
            libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        }
    }

    extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel hands a handler with SA_SIGINFO a valid siginfo and ucontext.
        let (address, context) = unsafe { ((*info).si_addr().addr(), &mut *context.cast::<ucontext_t>()) };
        if let Some(trap) = lane::running_trap()
            && trap.stack_ptr_in_bounds(stack_pointer(context))
        {
            // SAFETY: the stack pointer is in the running lane's stack. Nothing on that stack is used
            // again; the block that the lane belongs to stops at once, and what the lane may have left
            // half done in the block's checker is only read to report the findings.
            let registers = unsafe { trap.setup_trap_handler(move || Exit::Trapped(address)) };
            set_registers(context, registers);
            return;
        }
        chain(signal, info, std::ptr::from_mut(context).cast());
    }

    /// Calls the handler that was installed before ours.
    fn chain(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let index = usize::from(signal == SIGNALS[1]);
        let previous = PREVIOUS.get().map(|all| all[index]);
        match previous.map(|action| (action.sa_sigaction, action.sa_flags)) {
            Some((handler, flags)) if handler != libc::SIG_DFL && handler != libc::SIG_IGN => {
                // SAFETY: the address came from `sigaction`, and its flags tell the signature.
                unsafe {
                    if flags & libc::SA_SIGINFO != 0 {
                        let call: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                            std::mem::transmute(handler);
                        call(signal, info, context);
                    } else {
                        let call: extern "C" fn(c_int) = std::mem::transmute(handler);
                        call(signal);
                    }
                }
            }
            // The access is repeated on return and kills the process, as without any handler.
            // SAFETY: resets a signal to its default, which is async-signal-safe.
            _ => unsafe {
                libc::signal(signal, libc::SIG_DFL);
            },
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    }

    #[cfg(target_arch = "x86_64")]
    fn set_registers(context: &mut ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = registers;
        let all = &mut context.uc_mcontext.gregs;
        all[libc::REG_RIP as usize] = rip as i64;
        all[libc::REG_RSP as usize] = rsp as i64;
        all[libc::REG_RBP as usize] = rbp as i64;
        all[libc::REG_RDI as usize] = rdi as i64;
        all[libc::REG_RSI as usize] = rsi as i64;
    }

    #[cfg(target_arch = "aarch64")]
    fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn set_registers(context: &mut ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = registers;
        let all = &mut context.uc_mcontext;
        all.pc = pc;
        all.sp = sp;
        all.regs[0] = x0;
        all.regs[1] = x1;
        all.regs[29] = x29;
        all.regs[30] = lr;
    }
}
