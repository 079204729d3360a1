import { once } from 'node:events';
import { connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../../src/talos/gen/machine_pb.ts';
import { readPartition } from '../../../world/talos/boot/disk-partitions.ts';
import { clientAuth, issueLeaf, serverAuth } from '../../../world/talos/certificates/pki.ts';
import { connectTalos, makeSecrets } from '../testing/talos-test-bed.ts';
import {
  awaitBootFromDisk,
  awaitEtcdRunning,
  awaitStage,
  errorOf,
  messageOfRejection,
  readMachineStatus,
  sharedTestSecrets,
  startTestCluster,
} from '../testing/test-cluster.ts';

/** By number. */
const eventNames = ['CREATED', 'UPDATED', 'DESTROYED'];
const labels = ['STATE', 'EPHEMERAL'].map((label) => ({ label, wipe: true }));

describe('callers', () => {
  it.each([
    ['os:reader', 'PermissionDenied: not authorized'],
    ['os:operator', 'PermissionDenied: not authorized'],
    ['os:nobody', 'PermissionDenied: not authorized'],
  ])('are authorized by the organisation of their certificate: %s may not reset', async (organization, expected) => {
    const { world, client } = await startTestCluster('roles');
    await awaitStage(world, await client(), 'installing');
    const node = await client(organization);
    const seen = await node.machine.version({}).then(
      () => 'ok',
      (error) => ConnectError.from(error).message,
    );
    expect(seen).toBe(organization === 'os:nobody' ? `[permission_denied] not authorized` : 'ok');
    expect(await messageOfRejection(node.machine.reset({}))).toBe(expected);
    if (organization === 'os:reader') expect(await messageOfRejection(node.machine.reboot({}))).toBe(expected);
  });

  it('cannot connect without clientAuth as only usage, or with a certificate of another cluster', async () => {
    const { world, address, client } = await startTestCluster('handshake');
    await world.until('the API', async () => (await client()).machine.version({}));
    const secrets = await sharedTestSecrets();
    const foreignServers = [
      await connectTalos(address, secrets, ['os:admin'], [clientAuth, serverAuth]),
      await connectTalos(address, { ...(await makeSecrets()), os: { ...(await makeSecrets()).os } }),
    ];
    for (const foreign of foreignServers) {
      const error = await errorOf(foreign.machine.version({}));
      expect([Code.Unavailable, Code.Canceled, Code.Aborted, Code.Internal]).toContain(error.code);
      foreign.close();
    }
  });
});

describe('resources', () => {
  it('are refused by unknown type or namespace, and not found by unknown id', async () => {
    const one = await startTestCluster('state');
    await awaitBootFromDisk(one);
    const { state } = await one.client();
    const get = (namespace: string, type: string, id = 'x') => messageOfRejection(state.get({ namespace, type, id }));
    expect(await get('runtime', 'Nothings.talos.dev')).toBe(
      'PermissionDenied: resource type "Nothings.talos.dev" is not supported',
    );
    expect(await get('nowhere', 'Versions.runtime.talos.dev')).toBe(
      'PermissionDenied: namespace "nowhere" is not supported',
    );
    expect(await get('runtime', 'Versions.runtime.talos.dev')).toMatch(/^NotFound: /);
    const reader = await one.client('os:reader');
    expect(
      await messageOfRejection(
        reader.state.get({ namespace: 'config', type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' }),
      ),
    ).toBe('PermissionDenied: not authorized');
  });
});

it('reports an unknown service in one frame, as clients of Go require', async () => {
  const { address } = await startTestCluster('unknown').then(async (cluster) => {
    await cluster.world.until('the API', async () => (await cluster.client()).machine.version({}));
    return cluster;
  });
  const secrets = await sharedTestSecrets();
  const { cert, key } = await issueLeaf(secrets.os.authority, {
    organizations: ['os:admin'],
    usages: [clientAuth],
    hours: 1,
  });
  const session = connect(`https://${address}:50000`, { ca: secrets.os.authority.pem, cert, key });
  try {
    const stream = session.request({ ':method': 'POST', ':path': '/cluster.ClusterService/HealthCheck' });
    const [headers, flags] = (await once(stream, 'response')) as [IncomingHttpHeaders, number];
    expect(headers).toMatchObject({ 'grpc-status': '12', 'grpc-message': 'unknown service cluster.ClusterService' });
    expect(flags & constants.NGHTTP2_FLAG_END_STREAM).not.toBe(0);
  } finally {
    session.destroy();
  }
});

describe('a watch', () => {
  it('of one resource begins with its state, and reports changes until it is removed', async () => {
    const cluster = await startTestCluster('watched');
    await awaitBootFromDisk(cluster);
    const { state, machine } = await cluster.client('os:reader');
    const admin = await cluster.client();
    const seen: string[] = [];
    const watch = async (type: string, id: string | undefined, until: string) => {
      const target = { namespace: 'runtime', type, apiVersion: 1, ...(id === undefined ? {} : { id }) };
      for await (const { event } of state.watch(target)) {
        for (const { eventType, resource } of event)
          seen.push(`${eventNames[eventType]} ${resource?.spec?.yamlSpec ?? ''}`);
        if (event.length === 0) seen.push('begun');
        if (seen.at(-1)?.startsWith(until)) return;
      }
    };
    const services = 'Services.v1alpha1.talos.dev';
    expect(await messageOfRejection(watch(services, undefined, 'never'))).toContain('Unimplemented: ');
    expect(await messageOfRejection(watch('LinkSpecs.net.talos.dev', 'x', 'never'))).toContain('PermissionDenied: ');
    await watch(services, 'nothing', 'DESTROYED');
    expect(seen.splice(0)).toEqual(['begun', 'DESTROYED ']);
    await cluster.world.until('the kubelet', async () => {
      const { services: all = [] } = (await machine.serviceList({})).messages[0] ?? {};
      return all.find(({ id }) => id === 'kubelet')?.state === 'Running';
    });
    const watched = watch(services, 'kubelet', 'DESTROYED');
    await cluster.world.until('the beginning', () => seen.length === 2);
    await admin.machine.reboot({});
    await cluster.world.until('its stop', () => seen.length === 3);
    await watched;
    expect(seen).toEqual([
      'begun',
      expect.stringMatching(/^CREATED running: true/),
      expect.stringMatching(/^DESTROYED /),
    ]);
  });
});

describe('faults', () => {
  it('are applied to the call: refused, cut before the work, cut after it', async () => {
    const one = await startTestCluster('faults');
    const { switchboard } = one.world;
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    await one.world.until('the API', () => machine.version({}));
    switchboard.fail('talos', /Version$/, { kind: 'error', code: 'ResourceExhausted', body: 'slow down' });
    expect(await messageOfRejection(machine.version({}))).toBe('ResourceExhausted: slow down');
    switchboard.fail('talos', /Bootstrap$/, { kind: 'drop' });
    await one.world.until('the CRI', async () =>
      (await machine.serviceList({})).messages[0]?.services.some(({ id }) => id === 'trustd'),
    );
    await errorOf(machine.bootstrap({}));
    const marker = () => readPartition(one.machine.disks[0]?.path ?? '', 'EPHEMERAL')?.etcd;
    switchboard.fail('talos', /Bootstrap$/, { kind: 'lose-reply' });
    await errorOf(machine.bootstrap({}));
    expect(await one.world.until('the work that was done all the same', marker)).toMatchObject({
      memberId: expect.any(String),
    });
    expect(switchboard.calls.filter((call) => call.name === 'machine.MachineService/Bootstrap')).toHaveLength(2);
  });
});

describe('configurations', () => {
  it('depend on the Talos version: no REBOOT from 1.14 on, little in maintenance mode before 1.13', async () => {
    const old = await startTestCluster('old', { maintenance: true, image: { version: '1.12.11' } });
    const nobody = await old.client(null);
    await awaitStage(old.world, nobody, 'maintenance');
    expect(await messageOfRejection(nobody.machine.version({}))).toBe(
      'Unimplemented: API is not implemented in maintenance mode',
    );
    expect(
      await messageOfRejection(
        nobody.machine.applyConfiguration({ data: Buffer.from(old.config), mode: Mode.NO_REBOOT }),
      ),
    ).toMatch(/^Unimplemented/);
    const image = { version: '1.14.0' };
    const fresh = await startTestCluster('fresh', { image, edit: (text) => text.replaceAll('v1.13.9', 'v1.14.0') });
    await awaitBootFromDisk(fresh);
    const { machine } = await fresh.client();
    await fresh.world.until('the API', () => machine.version({}));
    expect(
      await messageOfRejection(machine.applyConfiguration({ data: Buffer.from(fresh.config), mode: Mode.REBOOT })),
    ).toMatch(/^Unimplemented/);
    const other = fresh.config.replace('token: abcdef', 'token: ghijkl');
    const answer = await machine.applyConfiguration({ data: Buffer.from(other), mode: Mode.AUTO });
    expect(answer.messages[0]?.mode).toBe(Mode.NO_REBOOT);
  });
});

describe('a reset', () => {
  it('of the only member, gracefully, answers at once, fails without an error, and erases nothing', async () => {
    const one = await startTestCluster('only');
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    await one.world.until('bootstrap', () => one.world.during(machine.bootstrap({})));
    await awaitEtcdRunning(one.world, machine);
    const { messages } = await machine.reset({ graceful: true, reboot: true, systemPartitionsToWipe: labels });
    expect(messages[0]?.actorId).toBeTruthy();
    await one.world.until('the failure', () =>
      one.world.runner.node('only')?.console.some((line) => line.includes('reset failed: error running phase 4')),
    );
    expect((await readMachineStatus(await one.client())).stage).toBe('rebooting');
    expect(readPartition(one.machine.disks[0]?.path ?? '', 'STATE')).toBeDefined();
    await machine.reset({ graceful: false, reboot: false, systemPartitionsToWipe: labels });
    await one.world.until('the machine to be off', () => one.world.runner.node('only')?.stage === 'off');
    expect(readPartition(one.machine.disks[0]?.path ?? '', 'STATE')).toBeUndefined();
    expect(readPartition(one.machine.disks[0]?.path ?? '', 'BOOT')).toBeDefined();
  });

  it.each([
    [
      { systemPartitionsToWipe: [{ label: 'BOOT', wipe: true }] },
      /^Unknown: failed to get volume status with label "BOOT"/,
    ],
    [{ userDisksToWipe: ['/dev/vdb'] }, /^Unimplemented: a reset of user disks is not simulated/],
  ])('of an unknown target is refused at once: %j', async (request, message) => {
    const one = await startTestCluster('arguments');
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    await one.world.until('the API', () => machine.version({}));
    expect(await messageOfRejection(machine.reset(request))).toMatch(message);
  });
});
