import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KubeClient } from '../../src/kube/client/client.ts';
import { loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { missingForRealKube, type RealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { createTestAuthority } from '../peers/test-authority.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import { KubeNode } from '../support/fixtures/kube-node.ts';

const host = '127.43.81.1';
const pod = { namespace: 'default', name: 'provider-0' };
const lines = ['2026-11-27T02:30:00Z {"level":"info"}', '2026-11-27T02:30:01Z {"level":"error"}'];

/** The part of a kubelet that API servers ask for logs. */
async function startKubelet(): Promise<Server> {
  const server = createServer(await (await createTestAuthority('kubelet')).serving([host], []), (request, response) => {
    const isLog = request.url?.startsWith(`/containerLogs/${pod.namespace}/${pod.name}/run`);
    response.writeHead(isLog ? 200 : 404, { 'content-type': 'text/plain' }).end(isLog ? `${lines.join('\n')}\n` : '');
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return server;
}

describeUnlessMissing('the logs of Pods, as kube-apiserver passes them on', missingForRealKube(), () => {
  let kubelet: Server | undefined;
  let kube: RealKube | undefined;
  let client: KubeClient;

  beforeAll(async () => {
    kubelet = await startKubelet();
    kube = await startRealKube({ host });
    client = new KubeClient(new Transport(loadApiServerConnection({ path: kube.kubeconfigPath })), {
      fieldManager: 'test',
    });
    await client.raw('POST', '/api/v1/nodes', { metadata: { name: 'one' } });
    const { port: Port } = kubelet.address() as AddressInfo;
    const addresses = [{ type: 'InternalIP', address: host }];
    const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port } } };
    await client.merge(KubeNode, { name: 'one' }, { status }, { subresource: 'status' });
    const spec = { nodeName: 'one', containers: [{ name: 'run', image: 'provider' }] };
    await client.raw('POST', `/api/v1/namespaces/${pod.namespace}/pods`, { metadata: pod, spec });
  }, 90_000);
  afterAll(async () => {
    await client?.close();
    await kube?.close();
    kubelet?.close();
  });

  it('are read line by line', async () => {
    const read: string[] = [];
    const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/log?container=run`;
    await client.scanLines(path, (line) => void read.push(line), AbortSignal.timeout(30_000));
    expect(read).toEqual(lines);
  });
});
