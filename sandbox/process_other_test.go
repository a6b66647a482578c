//go:build !unix

package sandbox

func ownGroup() bool { return false }
