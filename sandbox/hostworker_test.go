package sandbox

import "testing"

func TestOutOfMemory(t *testing.T) {
	const fault = "SIGSEGV: segmentation violation\nPC=0x43955d m=0 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x1241c20 m=0 [idle]:\n"
	for words, want := range map[string]bool{
		"fatal error: runtime: out of memory\n":                                                    true,
		"runtime: mmap: cannot allocate memory\n":                                                  true,
		fault + "runtime.(*spanQueue).tryDrain(0x7ffd00000400)\n\t/x\n":                            true,
		fault + "runtime.mallocgc(0x8)\n\t/x\n":                                                    false,
		"SIGSEGV: segmentation violation\nPC=0x1 m=0 addr=0x77\n\nruntime.(*spanQueue).put(0x0)\n": false,
		"panic: runtime.(*spanQueue) addr=0x0\n":                                                   false,
		"":                                                                                         false,
	} {
		if got := outOfMemory(words); got != want {
			t.Errorf("%q: %t", words, got)
		}
	}
}
