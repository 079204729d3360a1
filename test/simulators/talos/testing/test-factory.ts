import { createServer } from 'node:http';
import { startListening, stopListening } from '../../../world/network/listening.ts';

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

/** A manifest whose configuration is named by the image, and that configuration. */
function answerTo(path: string): unknown {
  const [, platform = 'metal', schematic = '', version = ''] =
    /^\/v2\/(?:([a-z]+)-)?installer\/([^/]+)\/manifests\/v(.+)$/.exec(path) ?? [];
  if (version !== '') {
    const layers = [{ digest: `sha256:${schematic}`, size: 1000 }];
    return { config: { digest: `${platform}_${schematic}_${version}` }, layers };
  }
  const [wanted, id, tag] = (path.split('/blobs/')[1] ?? '').split('_');
  const talos = { platform: wanted, arch: 'amd64', version: tag, schematic: id };
  return { talos: { ...talos, kernelArguments: [`talos.platform=${wanted}`] } };
}

export async function startTestFactory(): Promise<TestFactory> {
  const paths: string[] = [];
  const missing = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    paths.push(path);
    response.statusCode = [...missing].some((part) => path.includes(part)) ? 404 : 200;
    response.end(JSON.stringify(answerTo(path)));
  });
  const port = await startListening(server, '127.0.0.1', 0);
  return {
    place: `127.0.0.1:${port}`,
    paths,
    missing,
    close: () => stopListening(server),
  };
}
