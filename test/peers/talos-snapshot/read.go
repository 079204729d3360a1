package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// read does what talosctl does, and verifies as much: only the size (talos: cmd/talosctl/cmd/talos/etcd.go).
func read(o options) error {
	transport, err := o.transport(false)
	if err != nil {
		return err
	}
	connection, err := grpc.NewClient("passthrough:///"+o.address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := connection.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, snapshotMethod)
	if err != nil {
		return err
	}
	if err := errors.Join(stream.SendMsg(&emptypb.Empty{}), stream.CloseSend()); err != nil {
		return err
	}
	output := bufio.NewWriterSize(os.Stdout, 64*1024)
	size := 0
	for {
		var message anypb.Any
		err := stream.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		size += len(message.Value)
		if _, err := output.Write(message.Value); err != nil {
			return err
		}
	}
	if size%512 != 32 {
		return fmt.Errorf("the snapshot has %d bytes, and so no checksum", size)
	}
	return output.Flush()
}
