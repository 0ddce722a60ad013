/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and marks for C++ (11 and later): thin over aflame/region.h, whose head says what holds for
 * both.
 *
 *	{
 *		aflame::region r("step");    ends where r does, by an exception too
 *		aflame::mark("half");
 *	}
 *	aflame::span s("request");           of no thread: may be moved to another one, and ends there
 */
#ifndef AFLAME_REGION_HPP
#define AFLAME_REGION_HPP

#include <aflame/region.h>

#include <string>

namespace aflame {

/* A region of the calling thread. Regions nest, so it is neither copied nor moved. */
class region {
public:
	explicit region(const char *name) noexcept { aflame_region_begin(name); }
	explicit region(const std::string &name) noexcept { aflame_region_begin(name.c_str()); }
	~region() { aflame_region_end(); }
	region(const region &) = delete;
	region &operator=(const region &) = delete;
};

/* A region of no thread, of which there is one owner. */
class span {
public:
	explicit span(const char *name) noexcept : id_(aflame_region_start(name)) {}
	explicit span(const std::string &name) noexcept : span(name.c_str()) {}
	span(span &&other) noexcept : id_(other.id_) { other.id_ = 0; }
	span &operator=(span &&other) noexcept
	{
		if (this != &other) {
			aflame_region_stop(id_);
			id_ = other.id_;
			other.id_ = 0;
		}
		return *this;
	}
	~span() { aflame_region_stop(id_); }

private:
	uint64_t id_;
};

inline void mark(const char *name) noexcept { aflame_mark(name); }
inline void mark(const std::string &name) noexcept { aflame_mark(name.c_str()); }

} // namespace aflame

#endif
