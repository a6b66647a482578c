//go:build unix

package platform

import "syscall"

const rootDir = "/"

func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
