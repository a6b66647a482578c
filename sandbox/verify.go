package sandbox

import "errors"

// Verify looks whether the stored machine code of a module, named by the sha256 of
// its bytes in hexadecimal, is what was stored for it. None is fine: it is made
// again when it is needed. The error is an *abi.Error, untrusted with reason
// tampered, if it was changed.
func (s *Sandbox) Verify(module string) error {
	if _, err := s.store.open(module); err != nil && !errors.Is(err, ErrNotCompiled) {
		return err
	}
	return nil
}
