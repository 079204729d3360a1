import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { missingDocker } from '../../support/docker.ts';
import { cacheFolder } from '../find-peer.ts';
import { awaitPeerReady, type PeerProcess, startPeerProcess } from '../peer-process.ts';
import { removeCgroup } from './cgroups.ts';

const run = promisify(execFile);
const cgroup = `docker-${process.pid}`;

/** A Docker engine, and the `docker` command for it. */
export interface DockerEngine {
  /** True if it was started here: it is in the network of this machine, and has no other. */
  readonly isOwn: boolean;
  /** Runs `docker` with these words. Returns its output; rejects with its error. */
  docker(words: readonly string[], seconds?: number): Promise<string>;
  close(): Promise<void>;
}

/**
 * The engine that this machine has, or else one that is started for the caller: in mount and process namespaces of its
 * own, so that nothing of it survives, without changes to the network of the machine. `folder`: for its socket.
 */
export async function openDockerEngine(folder: string): Promise<DockerEngine> {
  if ((await missingDocker()) === undefined) {
    return { isOwn: false, docker: (words, seconds) => docker(words, {}, seconds), close: async () => undefined };
  }
  const socket = `unix://${join(folder, 'docker.sock')}`;
  const engine = await startEngine(folder, socket);
  return {
    isOwn: true,
    docker: (words, seconds) => docker(words, { DOCKER_HOST: socket }, seconds),
    close: async () => {
      await engine.stop();
      await removeCgroup(cgroup);
    },
  };
}

async function docker(words: readonly string[], env: NodeJS.ProcessEnv, seconds = 60): Promise<string> {
  const options = { env: { ...process.env, ...env }, timeout: seconds * 1000, maxBuffer: 2 ** 26 };
  return (await run('docker', [...words], options)).stdout;
}

/** Images and layers are kept between runs. A second engine at the same time begins with none. */
async function startEngine(folder: string, socket: string): Promise<PeerProcess> {
  const cache = join(cacheFolder(), 'docker-images');
  mkdirSync(cache, { recursive: true });
  try {
    return await startDockerd(folder, socket, cache);
  } catch {
    return await startDockerd(folder, socket, join(folder, 'docker-images'));
  }
}

async function startDockerd(folder: string, socket: string, images: string): Promise<PeerProcess> {
  mkdirSync(images, { recursive: true });
  const words = [
    ...['--nonblock', '--no-fork', `${images}.lock`],
    ...['unshare', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'],
    ...['dockerd', `--host=${socket}`, `--data-root=${images}`, `--exec-root=${join(folder, 'docker')}`],
    ...[`--pidfile=${join(folder, 'docker.pid')}`, '--bridge=none', '--iptables=false', '--log-level=warn'],
    `--cgroup-parent=/${cgroup}`,
  ];
  const engine = startPeerProcess({ path: 'flock', args: words, folder });
  try {
    await awaitPeerReady('dockerd', engine, 60, async () => {
      return await docker(['version', '--format', '{{.Server.Version}}'], { DOCKER_HOST: socket }, 5).then(
        () => true,
        () => false,
      );
    });
    return engine;
  } catch (error) {
    await engine.stop();
    throw error;
  }
}
