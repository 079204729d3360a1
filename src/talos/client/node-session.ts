import type { ClientHttp2Stream } from 'node:http2';
import { Http2SessionManager } from '@connectrpc/connect-node';

const ignore = (): void => {};

/**
 * One HTTP/2 session at a time. The library takes its listeners off a session that it gives up, which may report its error
 * only then: after a GOAWAY of a node that goes down, for example. Without a listener that error would end this process.
 */
export class NodeSession extends Http2SessionManager {
  override async request(...request: Parameters<Http2SessionManager['request']>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...request);
    const { session } = stream;
    if (session && !session.listeners('error').includes(ignore)) session.on('error', ignore);
    return stream;
  }
}
