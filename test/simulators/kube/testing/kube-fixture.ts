import { Agent, request } from 'undici';
import { afterAll } from 'vitest';
import { issueTestServingCertificate, newTokenKey } from '../../../world/kube/auth/certificates.ts';
import type { JsonObject } from '../../../world/kube/json.ts';
import { type KubeServer, type KubeServerOptions, startKubeServer } from '../../../world/kube/server.ts';

/** For the tests of this folder: a server, and a plain HTTP client. */
export interface KubeFixture extends KubeServer {
  readonly ca: string;
  call(method: string, path: string, body?: unknown, options?: KubeCallOptions): Promise<KubeReply>;
  /** Opens a watch; `next` returns its events one by one, undefined at its end. */
  watch(path: string, token?: string): Promise<TestWatch>;
}

export interface KubeCallOptions {
  readonly token?: string;
  readonly type?: string;
  readonly headers?: Record<string, string>;
}

export interface KubeReply {
  readonly code: number;
  // Tests check the shape of answers.
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly body: any;
  readonly headers: Record<string, string | string[] | undefined>;
}

export interface TestWatch {
  next(): Promise<{ type: string; object: JsonObject & { metadata: JsonObject } } | undefined>;
  close(): void;
}

const host = '127.0.0.1';
const issuer = 'https://kubernetes.default.svc.cluster.local';

export async function startKubeFixture(options: Partial<KubeServerOptions> = {}): Promise<KubeFixture> {
  const { ca, ...serving } = await issueTestServingCertificate(host);
  const server = await startKubeServer({
    host,
    port: 0,
    serving,
    serviceAccount: { privateKey: newTokenKey(), issuer },
    tokens: { admin: { user: 'admin', groups: ['system:masters'] }, nobody: { user: 'nobody', groups: [] } },
    ...options,
  });
  const agent = new Agent({ connect: { ca } });
  const headersOf = (given: KubeCallOptions, hasBody: boolean) => ({
    ...(given.token === '' ? {} : { authorization: `Bearer ${given.token ?? 'admin'}` }),
    ...(hasBody ? { 'content-type': given.type ?? 'application/json' } : {}),
    ...given.headers,
  });
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    given: KubeCallOptions = {},
  ): Promise<KubeReply> => {
    const reply = await request(`${server.url}${path}`, {
      method: method as 'GET',
      dispatcher: agent,
      headers: headersOf(given, body !== undefined),
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await reply.body.text();
    const isJson = String(reply.headers['content-type']).includes('json');
    return { code: reply.statusCode, body: isJson ? JSON.parse(text) : text, headers: reply.headers };
  };
  const watch = async (path: string, token = 'admin'): Promise<TestWatch> => {
    const reply = await request(`${server.url}${path}`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}` },
    });
    const lines = linesOf(reply.body);
    return {
      async next() {
        const { value, done } = await lines.next();
        return done ? undefined : JSON.parse(value);
      },
      close: () => reply.body.destroy(),
    };
  };
  afterAll(async () => {
    await server.close();
    await agent.destroy();
  });
  return { ...server, ca, call, watch };
}

async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string, undefined> {
  let rest = '';
  for await (const chunk of body) {
    const parts = (rest + chunk.toString('utf8')).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  return undefined;
}
