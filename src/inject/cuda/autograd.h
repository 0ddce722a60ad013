/*
 * PyTorch's link between a backward pass and the forward operations it goes back to, as an option:
 * torch.autograd.profiler.emit_nvtx() is entered in the program, whose ranges then tell which
 * operation each backward function belongs to; nvtx.c reads them.
 *
 * A few lines of Python do that. They run on the program's main thread, between two of its
 * bytecodes, as signal handlers written in Python do (Py_AddPendingCall), once PyTorch has started
 * CUDA there: to enter it earlier would start CUDA. What fails is said in the trace, and nowhere
 * else.
 *
 *	af_autograd_start → { af_autograd_look }* → af_autograd_end
 */
#ifndef AF_INJECT_CUDA_AUTOGRAD_H
#define AF_INJECT_CUDA_AUTOGRAD_H

/* CUDA is recorded in this process: look for its Python, if the session wants autograd. */
void af_autograd_start(void);

/* Something has happened: is PyTorch there now? From any thread, without the GIL or with it; does
 * nothing while the answer is awaited, and once there is one. */
void af_autograd_look(void);

/* No more will happen: if there was no answer, say so. */
void af_autograd_end(void);

#endif
