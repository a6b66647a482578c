package platform

import (
	"syscall"

	"golang.org/x/sys/windows"
)

const rootDir = `C:\`

func detachedAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
