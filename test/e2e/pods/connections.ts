import { podNetwork } from '../../peers/pods/node-files.ts';
import { repository } from '../../peers/pods/product-image.ts';
import type { RealPods } from '../../peers/pods/real-pods.ts';
import { startBeside } from '../../peers/pods/start-beside.ts';

/** Listens at these ports of the node, until the cluster ends. */
export async function listenBeside(pods: RealPods, ports: readonly number[]): Promise<void> {
  const script = `
    let open = 0;
    for (const port of [${ports}])
      require('node:net').createServer((socket) => socket.destroy()).listen(port, '${podNetwork.node}', () => {
        open += 1;
        if (open === ${ports.length}) console.log('open');
      });`;
  await startBeside(pods, [process.execPath, '-e', script]);
}

/** A program for Node that prints `connected`, or the code of the error. */
const connect = (host: string, port: number): string => `
  const socket = require('node:net').connect({ host: '${host}', port: ${port}, timeout: 5000 });
  const end = (text) => { console.log(text); process.exit(); };
  socket.on('connect', () => end('connected')).on('timeout', () => end('ETIMEDOUT')).on('error', ({ code }) => end(code));`;

/** Connects from the container of a Pod. Returns `connected`, or the code of the error. */
export async function connectFromPod(
  { kubectl }: RealPods,
  pod: { readonly namespace: string; readonly name: string },
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  const words = ['exec', pod.name, `--namespace=${pod.namespace}`, '--', 'node', '-e', connect(host, port)];
  return (await kubectl(...words)).trim();
}

/** Starts a Pod of the product's image that does nothing, in a namespace made for it. */
export async function startIdlePod(pods: RealPods, namespace: string): Promise<{ namespace: string; name: string }> {
  await pods.kubectl('create', 'namespace', namespace);
  const image = `--image=${repository}:${pods.image.tags.current}`;
  const words = ['--image-pull-policy=Never', '--command', '--', 'node', '-e', 'setInterval(() => {}, 1000)'];
  await pods.kubectl('run', 'idle', `--namespace=${namespace}`, image, ...words);
  await pods.kubectl('wait', 'pod/idle', `--namespace=${namespace}`, '--for=condition=Ready', '--timeout=60s');
  return { namespace, name: 'idle' };
}
