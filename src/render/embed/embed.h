/* Files that travel inside the program: made by embed.c, listed in meson.build. */
#ifndef AF_RENDER_EMBED_EMBED_H
#define AF_RENDER_EMBED_EMBED_H

/* Declares af_embed_NAME[] (zero-terminated) and af_embed_NAME_size (without that zero). */
#define AF_EMBED(name)                                                                             \
	extern const unsigned char af_embed_##name[];                                              \
	extern const unsigned af_embed_##name##_size

#endif
