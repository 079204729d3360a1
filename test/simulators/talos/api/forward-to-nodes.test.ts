import { Code } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { awaitBootFromDisk, awaitStage, messageOfRejection, startTestCluster } from '../testing/test-cluster.ts';

describe('forwarding', () => {
  it('is done by control planes with their own certificate, and refused by workers', async () => {
    const one = await startTestCluster('cp', {});
    const worker = one.add('worker', { role: 'worker' });
    await awaitBootFromDisk(one);
    const client = await one.client();
    const direct = await worker.client();
    await one.world.until('the worker', () => direct.machine.version({}));
    const hostname = await client.machine.hostname({}, { headers: { node: worker.address } });
    expect(hostname.messages[0]?.hostname).toBe('worker');
    expect(await messageOfRejection(direct.machine.hostname({}, { headers: { node: one.address } }))).toBe(
      'PermissionDenied: no request forwarding',
    );
    const named = await client.machine.hostname({}, { headers: { nodes: worker.address } });
    expect(named.messages).toMatchObject([{ hostname: 'worker', metadata: { hostname: worker.address } }]);
    const missing = await client.machine.hostname({}, { headers: { nodes: '127.42.99.99' } });
    expect(missing.messages[0]?.metadata).toMatchObject({
      hostname: '127.42.99.99',
      status: { code: Code.Unavailable },
    });
    const reader = await one.client('os:reader');
    expect(await messageOfRejection(reader.machine.reset({}, { headers: { node: worker.address } }))).toBe(
      'PermissionDenied: not authorized',
    );
  });

  it("to a node outside of the cluster fails with a Go client's error", async () => {
    const one = await startTestCluster('inside', {});
    const free = one.add('outside', { maintenance: true });
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    const nobody = await free.client(null);
    await awaitStage(one.world, nobody, 'maintenance');
    expect(await messageOfRejection(machine.version({}, { headers: { node: free.address } }))).toMatch(
      /^Unavailable: connection error: .*x509: certificate signed by unknown authority/,
    );
    expect(await messageOfRejection(machine.version({}, { headers: { node: '127.42.99.99' } }))).toMatch(
      /^Unavailable: connection error: .*Error while dialing/,
    );
  });

  it('to several nodes is not supported for resources', async () => {
    const one = await startTestCluster('fan');
    await awaitBootFromDisk(one);
    const { state } = await one.client();
    const call = state.get(
      { namespace: 'runtime', type: 'Versions.runtime.talos.dev', id: 'version' },
      { headers: { nodes: one.address } },
    );
    expect(await messageOfRejection(call)).toBe(
      'InvalidArgument: one-2-many proxying is not supported for method /cosi.resource.State/Get',
    );
  });
});
