/*
 * Links a PyTorch backward pass to the forward operations that it goes back to, as an option. We
 * enter torch.autograd.profiler.emit_nvtx() in the program; its NVTX ranges then tell which
 * operation each backward function belongs to, and nvtx.c reads them.
 *
 * A few lines of Python do that, once PyTorch has started CUDA in the process: to enter it earlier
 * would start CUDA. They run on the program's main thread, between two of its bytecodes, as signal
 * handlers written in Python do (Py_AddPendingCall). A failure is noted in the trace, and nowhere
 * else.
 *
 *	af_autograd_start → { af_autograd_poll }* → af_autograd_end
 */
#ifndef AF_INJECT_CUDA_AUTOGRAD_H
#define AF_INJECT_CUDA_AUTOGRAD_H

/* CUDA is recorded in this process: look for its Python, if the session wants autograd. */
void af_autograd_start(void);

/*
 * Check whether PyTorch is there now. From any thread, with or without the GIL. Does nothing while
 * a check runs, and once there is a result.
 */
void af_autograd_poll(void);

/* Nothing more will happen: if there was no result, note that. */
void af_autograd_end(void);

#endif
