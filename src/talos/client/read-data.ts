import { create, type DescMessage, type DescMethodServerStreaming, toBinary } from '@bufbuild/protobuf';
import {
  createAsyncIterable,
  createDeadlineSignal,
  createLinkedAbortController,
  createMethodUrl,
  encodeEnvelope,
} from '@connectrpc/connect/protocol';
import { requestHeader, validateResponse, validateTrailer } from '@connectrpc/connect/protocol-grpc';
import { createNodeHttpClient, type Http2SessionManager } from '@connectrpc/connect-node';
import { readBatches } from '../../lib/net/read-batches.ts';
import type { DataSchema } from '../gen/common_pb.ts';
import { DataMessages } from './data-messages.ts';

type SessionManager = Pick<Http2SessionManager, 'authority' | 'request' | 'notifyResponseByteRead'>;
export type DataMethod = DescMethodServerStreaming<DescMessage, typeof DataSchema>;

interface DataCall {
  readonly url: string;
  readonly session: Http2SessionManager;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes a call whose reply is a stream of `common.Data`, and yields the bytes of the messages that have arrived together.
 * The client of the library yields each message by itself, through some ten promises: {@link DataMessages} says why that
 * is too slow. Connection, headers and errors are those of the library.
 */
export async function* readData(method: DataMethod, call: DataCall): AsyncGenerator<readonly Uint8Array[]> {
  const { url, session, timeoutMs, signal } = call;
  const deadline = createDeadlineSignal(timeoutMs);
  const controller = createLinkedAbortController(signal, deadline.signal);
  try {
    const reply = await createNodeHttpClient({ httpVersion: '2', sessionProvider: () => readAhead(session) })({
      url: createMethodUrl(url, method),
      method: 'POST',
      header: requestHeader(true, timeoutMs, undefined),
      signal: controller.signal,
      body: createAsyncIterable([encodeEnvelope(0, toBinary(method.input, create(method.input)))]),
    });
    const { foundStatus, headerError } = validateResponse(reply.status, reply.header);
    if (headerError) throw headerError;
    const messages = new DataMessages();
    for await (const piece of reply.body) {
      const contents = messages.add(piece);
      if (contents.length > 0) yield contents;
    }
    messages.end();
    if (!foundStatus) validateTrailer(reply.trailer, reply.header);
  } catch (error) {
    throw deadline.signal.aborted ? deadline.signal.reason : error;
  } finally {
    deadline.cleanup();
    // Ends a call that is not read to its end.
    controller.abort();
  }
}

/**
 * How much a node may send ahead. The default of 64 KiB allows no more than 6 MiB a second at a round trip of 10 ms. So much is in
 * memory if what is read is not taken.
 */
const windowBytes = 1024 * 1024;

/** Talos sends messages of 1 KiB (talos: pkg/chunker/stream). What handles a batch costs as much for a small one. */
const batchBytes = 256 * 1024;

/** The library reads the iterator of a stream, which is replaced. */
const readAhead = (session: Http2SessionManager): SessionManager => ({
  authority: session.authority,
  request: async (...request) => {
    const stream = await session.request(...request);
    stream.session?.setLocalWindowSize(windowBytes);
    stream.session?.settings({ initialWindowSize: windowBytes });
    return Object.assign(stream, { [Symbol.asyncIterator]: () => readBatches(stream, batchBytes) });
  },
  // It serves pings, and the session sends none.
  notifyResponseByteRead: () => {},
});
