// paints.c's paint_here(), called by a goroutine.
package main

// int paint_here(double times, long reported[2]);
import "C"
import (
	"fmt"
	"os"
)

func main() {
	var reported [2]C.long
	done := make(chan C.int)
	go func() { done <- C.paint_here(5.0, &reported[0]) }()
	if <-done != 0 {
		os.Exit(1)
	}
	fmt.Println("truth taken", reported[0])
	fmt.Println("truth frame", reported[1])
}
