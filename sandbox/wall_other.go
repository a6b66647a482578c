//go:build !linux

package sandbox

// Elsewhere a worker stands behind WebAssembly, a process of its own, and the limits
// that the system has.

func confineFiles(hello) error { return nil }

func confineCalls() error { return nil }

func confineLoaded() error { return nil }

// Confinement says which of the kernel's walls workers of this system stand behind,
// and which it lacks.
func Confinement() (has, lacks []string) { return nil, []string{"Landlock", "seccomp"} }
