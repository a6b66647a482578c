package browsertest

import "testing"

func testExtract(t *testing.T, s Subject) {}
func testRead(t *testing.T, s Subject)    {}
func testAct(t *testing.T, s Subject)     {}
func testFetch(t *testing.T, s Subject)   {}
