/* Under sudo, a trace belongs to the user who called sudo, who could not even read it otherwise. */
#ifndef AF_CMD_RECORD_SUDO_OWNER_H
#define AF_CMD_RECORD_SUDO_OWNER_H

/*
 * Give the trace in @dir, which is complete, to the user that sudo(8) names in SUDO_UID and
 * SUDO_GID, if we are root and there is one. Only what root owns changes hands, no link is
 * followed, and what cannot be given stays root's.
 */
void af_sudo_owner_give(const char *dir);

#endif
