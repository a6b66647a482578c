//go:build !linux

package platform

// OwnProcesses lists nothing here.
func OwnProcesses(func(args []string) bool) ([]Running, error) { return nil, nil }
