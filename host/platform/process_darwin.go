package platform

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func readProcess(pid int) (Process, error) {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, fmt.Errorf("reading process %d: %w", pid, err)
	}
	start := kp.Proc.P_starttime
	p := Process{
		PID:       int(kp.Proc.P_pid),
		Parent:    int(kp.Eproc.Ppid),
		StartTime: uint64(start.Sec)*1_000_000 + uint64(start.Usec),
		Exe:       unix.ByteSliceToString(kp.Proc.P_comm[:]),
	}
	if p.PID != pid {
		return Process{}, fmt.Errorf("reading process %d: it says %d", pid, p.PID)
	}
	if dev := kp.Eproc.Tdev; dev != -1 && dev != 0 {
		p.TTY = fmt.Sprintf("%d:%d", uint32(dev)>>24, uint32(dev)&0xffffff)
	}
	if sid, err := unix.Getsid(pid); err == nil {
		p.Session = sid
	}
	return p, nil
}
