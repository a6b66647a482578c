package platform

import (
	"errors"
	"fmt"
)

func readProcess(pid int) (Process, error) {
	return Process{}, fmt.Errorf("reading process %d: %w", pid, errors.ErrUnsupported)
}
