OpenCL: 1 host, 1 process, 1 thread, 1 device

Calls of device APIs: OpenCL
  Function                       Calls  Failed
  [enqueue] copy host to device      1       0
  [enqueue] kernel                   4       1
  Total                              5       1

Where device time went: kernels
  Kernel      Time    Share  Calls    Mean     Min     Max  Queued
  dot       200 ns  19.07 %      1  200 ns  200 ns  200 ns    3 ns
  saxpy     809 ns  77.12 %      3  270 ns    9 ns  500 ns    3 ns
  Total   1.009 us  96.19 %      4  252 ns    9 ns  500 ns    3 ns

Copies and other device work
  Operation             Time  Calls    Bytes  Per second
  copy host to device  40 ns      1  4.10 kB   102.40 GB
  Total                40 ns      1  4.10 kB   102.40 GB
