// Package platform holds what differs between Linux, macOS and Windows:
// directories and their modes, the daemon's lock file, the control socket and
// who is at its other end, process ancestry, and starting a process that
// outlives its terminal.
//
// It refuses what others of the machine could read or write: a file or
// directory that belongs to another user, or that grants anything to group or
// others, is an error with the chmod to run. It makes no policy about callers:
// it tells who they are, and package gate judges.
//
// Start with [NewDirs] in dirs.go and [Lock] in lock.go. Files named _unix.go
// serve Linux and macOS. On Windows the modes are those of the user's profile,
// and ancestry and peer credentials are not available: the functions say so
// with [errors.ErrUnsupported], and callers treat that as a refusal.
package platform
