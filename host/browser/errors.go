package browser

import (
	"context"
	"errors"
	"strings"

	"github.com/chromedp/cdproto"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// What ends commands from below. asError turns them into the abi's codes.
var (
	errGone      = errors.New("the browser ended or its connection was lost")
	errCrashed   = errors.New("the page crashed")
	errClosed    = errors.New("the tab was closed")
	errNavigated = errors.New("the page went to another document")
)

// asError gives err, met while doing op, a code of the abi. It keeps an
// [abi.Error] that err wraps already.
func asError(op string, err error) error {
	var e *abi.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return err
	case errors.Is(err, errGone):
		return abi.Errorf(abi.ErrBrowserGone, op, "%w", err)
	case errors.Is(err, errCrashed):
		return abi.Errorf(abi.ErrPageCrashed, op, "%w", err)
	case errors.Is(err, errClosed):
		return abi.Errorf(abi.ErrPageClosed, op, "%w", err)
	case errors.Is(err, errNavigated):
		return abi.Errorf(abi.ErrStaleRef, op, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return abi.Errorf(abi.ErrTimeout, op, "the deadline passed: %w", err)
	case errors.Is(err, context.Canceled):
		return abi.Errorf(abi.ErrTimeout, op, "the call was cancelled: %w", err)
	}
	return abi.Errorf(abi.ErrInternal, op, "%w", err)
}

// navigated reports whether a command failed because its document is gone.
func navigated(err error) bool {
	var e *cdproto.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, s := range []string{
		"Cannot find context", "context was destroyed", "navigated or closed",
		"uniqueContextId not found", "Cannot find default execution context",
	} {
		if strings.Contains(e.Message, s) {
			return true
		}
	}
	return false
}
