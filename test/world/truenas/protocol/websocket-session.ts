import type { WebSocket } from 'ws';
import type { MethodDispatcher } from '../middleware/dispatcher.ts';
import type { NasState } from '../nas-state.ts';
import type { ClientConnection } from './client-connection.ts';
import { type RpcRequest, readFrame, tooManyCallsReply } from './json-rpc.ts';

const concurrentCallLimit = 10;
const queuedCallLimit = 20;

/**
 * Serves one WebSocket until it closes: reads frames, runs ten calls at a time, queues ten more and refuses the rest.
 * `life` ends with the middleware process.
 */
export function serveWebSocketSession(
  nas: NasState,
  dispatcher: MethodDispatcher,
  socket: WebSocket,
  client: ClientConnection,
  life: AbortSignal,
): void {
  const closed = new AbortController();
  const signal = nas.version.cancelsOnClose ? AbortSignal.any([life, closed.signal]) : life;
  const stopListening = nas.events.listen((event) => client.hear(event));
  const queue: RpcRequest[] = [];
  let running = 0;

  const next = (): void => {
    const request = running < concurrentCallLimit ? queue.shift() : undefined;
    if (!request || signal.aborted) return;
    running += 1;
    dispatcher
      .serve(client, request, signal)
      .catch(() => client.cut())
      .finally(() => {
        running -= 1;
        next();
      });
  };

  socket.on('message', (data, isBinary) => {
    if (isBinary) {
      client.close(1003, 'Invalid websocket message type: <WSMsgType.BINARY: 2>');
      return;
    }
    const reading = readFrame(data.toString(), client.identity !== undefined);
    if (reading.kind === 'close') client.close(reading.code, reading.reason);
    if (reading.kind === 'answer') client.send(reading.answer);
    if (reading.kind !== 'request') return;
    if (running + queue.length >= queuedCallLimit) {
      const { id } = reading.request;
      if (id !== undefined) client.send(tooManyCallsReply(id, queuedCallLimit));
      return;
    }
    queue.push(reading.request);
    next();
  });
  socket.on('error', () => socket.terminate());
  socket.on('close', () => {
    stopListening();
    closed.abort();
  });
}
