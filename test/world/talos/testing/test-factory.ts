import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The part of an image factory that a node needs to pull an installer: manifests of all versions except the named ones.
 */
export interface TestFactory {
  /** `host:port`. */
  readonly place: string;
  /** Requests so far. */
  readonly paths: string[];
  /** References that do not exist, as parts of the path. */
  readonly missing: Set<string>;
  close(): Promise<void>;
}

export async function startTestFactory(): Promise<TestFactory> {
  const paths: string[] = [];
  const missing = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    paths.push(path);
    response.statusCode = [...missing].some((part) => path.includes(part)) ? 404 : 200;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    place: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    missing,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
