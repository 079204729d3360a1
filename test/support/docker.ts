import { existsSync, readFileSync } from 'node:fs';
import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Long enough for a busy engine, short enough for machines without one. */
const patienceMilliseconds = 2_000;

/** An address at which an engine may listen, as text and as request options. */
interface DockerEndpoint {
  readonly address: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Why no container can be started here, in one sentence; undefined when an engine answers. It is searched at the same
 * addresses as by testcontainers: the configured address, and the sockets of the system and of the user.
 */
export async function missingDocker(env = process.env, sockets = socketsOf(env)): Promise<string | undefined> {
  const named = env['DOCKER_HOST'];
  const places = [
    ...(named ? [endpointAt(named, env)] : []),
    ...sockets.filter((path) => existsSync(path)).map(socketAt),
  ];
  const answers = await Promise.all(places.map(isAnswering));
  if (answers.includes(true)) return undefined;
  const checked = places.length > 0 ? ` at ${places.map(({ address }) => address).join(', ')}` : '';
  return `No Docker engine answers${checked}: start one, or name it in DOCKER_HOST.`;
}

function socketsOf(env: NodeJS.ProcessEnv): string[] {
  const runtime = env['XDG_RUNTIME_DIR'];
  return [
    '/var/run/docker.sock',
    ...(runtime ? [join(runtime, 'docker.sock')] : []),
    join(homedir(), '.docker', 'run', 'docker.sock'),
    join(homedir(), '.docker', 'desktop', 'docker.sock'),
    `/run/user/${userInfo().uid}/docker.sock`,
  ];
}

const socketAt = (path: string): DockerEndpoint => ({ address: `unix://${path}`, options: { socketPath: path } });

function endpointAt(address: string, env: NodeJS.ProcessEnv): DockerEndpoint {
  if (!URL.canParse(address)) return { address, options: {} };
  const { hostname, port, pathname } = new URL(address);
  if (hostname === '') return { ...socketAt(pathname), address };
  const folder = env['DOCKER_TLS_VERIFY'] === '1' ? env['DOCKER_CERT_PATH'] : undefined;
  const read = (file: string) => readFileSync(join(folder ?? '', file));
  const tls = folder ? { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') } : {};
  return { address, options: { hostname, port, ...tls } };
}

/** Calls the engine's ping endpoint. Every error means false. */
function isAnswering({ options }: DockerEndpoint): Promise<boolean> {
  if (Object.keys(options).length === 0) return Promise.resolve(false);
  const request = 'ca' in options ? requestTls : requestPlain;
  const signal = AbortSignal.timeout(patienceMilliseconds);
  return new Promise((resolve) => {
    const asked = request({ ...options, path: '/_ping', signal }, (reply) => {
      reply.resume();
      resolve(reply.statusCode === 200);
    });
    asked.once('error', () => resolve(false));
    asked.end();
  });
}
