//! Driver functions that cust links against, forwarded to libcuda.so.1 at run time
