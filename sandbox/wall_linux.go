package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// A worker whose engine was taken over by its guest still runs on the user's
// account. So the kernel is told what a worker needs, before the worker reads the
// module: its own directory of machine code, and the few system calls of a Go
// program that computes. When the machine code is there, files go too. What a kernel
// doesn't have is left out, and [Confinement] says so.

// confineFiles lets the worker reach nothing but its directory of machine code, and
// no network (Landlock).
func confineFiles(told hello) error {
	dir := landlock.RODirs(told.Cache)
	if told.WriteCache {
		dir = landlock.RWDirs(told.Cache).WithRefer()
	}
	if err := landlock.V7.BestEffort().Restrict(dir); err != nil {
		return fmt.Errorf("restricting files: %w", err)
	}
	return nil
}

// confineCalls refuses every system call that a worker doesn't need (seccomp).
func confineCalls() error {
	return filterCalls(seccomp.ActionErrno, []seccomp.SyscallGroup{
		{Names: known(slices.Concat(callsOfRuntime, callsOnWalls, callsOnFiles)), Action: seccomp.ActionAllow},
		// A thread of this process and no process; a signal to itself.
		{NamesWithCondtions: []seccomp.NameWithConditions{{Name: "clone", Conditions: seccomp.ArgumentConditions{
			{Argument: 0, Operation: seccomp.BitsSet, Value: syscall.CLONE_THREAD},
		}}, {Name: "tgkill", Conditions: seccomp.ArgumentConditions{
			{Argument: 0, Operation: seccomp.Equal, Value: uint64(os.Getpid())},
		}}}, Action: seccomp.ActionAllow},
		// Its arguments can't be looked at; who gets ENOSYS takes clone.
		{Names: known([]string{"clone3"}), Action: seccomp.ActionErrno | seccomp.Action(syscall.ENOSYS)},
	})
}

// confineLoaded takes files away from a worker that has its machine code, and what
// it needed for these walls.
func confineLoaded() error {
	return filterCalls(seccomp.ActionAllow, []seccomp.SyscallGroup{
		{Names: known(slices.Concat(callsOnWalls, callsOnFiles)), Action: seccomp.ActionErrno},
	})
}

func filterCalls(otherwise seccomp.Action, groups []seccomp.SyscallGroup) error {
	if !seccomp.Supported() || !tabled() {
		return nil
	}
	err := seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true, Flag: seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{DefaultAction: otherwise, Syscalls: groups},
	})
	if err != nil {
		return fmt.Errorf("restricting system calls: %w", err)
	}
	return nil
}

// tabled reports whether the names of this architecture's system calls are known.
func tabled() bool {
	a, err := arch.GetInfo("")
	return err == nil && len(a.SyscallNames) > 0
}

// known drops the names that this architecture doesn't have.
func known(names []string) []string {
	a, err := arch.GetInfo("")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := a.SyscallNames[n]; return !ok })
}

// callsOfRuntime are those of the Go runtime, of the C library's threads and
// allocator, and of a race detector; each on what the process has already.
var callsOfRuntime = []string{
	"read", "write", "readv", "writev", "close", "fstat", "lseek", "pread64", "fcntl", "poll", "ppoll", "select", "pselect6",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd2", "pipe2",
	"mmap", "munmap", "mprotect", "madvise", "mremap", "mincore", "brk",
	"futex", "futex_waitv", "set_robust_list", "get_robust_list", "rseq", "set_tid_address", "membarrier",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "rt_sigpending", "rt_sigtimedwait",
	"gettid", "getpid", "exit", "exit_group", "sched_yield", "sched_getaffinity", "getcpu",
	"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
	"timer_create", "timer_settime", "timer_delete", "setitimer", "getrusage", "getrlimit", "uname", "getrandom", "arch_prctl",
}

// callsOnWalls are those that add a filter to the first one.
var callsOnWalls = []string{"seccomp", "prctl"}

// callsOnFiles are those by which the engine reads and writes machine code.
var callsOnFiles = []string{
	"open", "openat", "openat2", "creat", "stat", "lstat", "newfstatat", "statx", "readlink", "readlinkat", "access", "faccessat", "faccessat2",
	"getdents64", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir",
	"fsync", "fdatasync", "ftruncate", "chmod", "fchmod", "fchmodat", "getcwd", "fadvise64", "copy_file_range",
}

// Confinement says which of the kernel's walls workers of this system stand behind,
// and which it lacks.
func Confinement() (has, lacks []string) {
	if n, err := landlocksys.LandlockGetABIVersion(); err == nil && n > 0 {
		has = append(has, fmt.Sprintf("Landlock %d", n))
	} else if !errors.Is(err, syscall.ENOSYS) && err != nil {
		lacks = append(lacks, fmt.Sprintf("Landlock (%v)", err))
	} else {
		lacks = append(lacks, "Landlock")
	}
	if seccomp.Supported() && tabled() {
		return append(has, "seccomp"), lacks
	}
	return has, append(lacks, "seccomp")
}
