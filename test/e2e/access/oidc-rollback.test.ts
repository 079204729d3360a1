import { describe, expect, it } from 'vitest';
import { AccessRequest, type OidcAccess } from '../../../src/api/openmcp/types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { resourceKinds } from '../../../src/talos/client/resources.ts';
import { eventually } from '../../support/eventually.ts';
import { accessHelpers } from '../support/access/access-helpers.ts';
import { oidcAccess } from '../support/access/oidc-access.ts';
import { withTalosAdminClient } from '../support/access/workload-cluster.ts';
import { restartKilled } from '../support/provider-process/restart-killed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const cluster = { namespace: 'shop', name: 'main' };
const other = { namespace: 'other', name: 'beside' };
const issuerOf = (name: string): string => `https://${name}.example.org`;

interface Manner {
  readonly subnet: string;
  readonly talosVersion: string;
  readonly controlPlanes: number;
}

/** Issuers that keep API servers from starting, although their URLs are valid. */
function takenBack({ subnet, talosVersion, controlPlanes }: Manner): void {
  const open = startTestbed({ subnet, timeScale: 0.004, speed: 20 });
  const { isGranted, isReady, ref, refusal: rejection } = accessHelpers(open, cluster);
  const beside = accessHelpers(open, other);
  const ask = (name: string, change: Partial<OidcAccess> = {}) =>
    open().objects.request(ref(name), {
      clusterRef: cluster,
      oidc: oidcAccess(issuerOf(name), { name, roles: [], roleBindings: [], ...change }),
    });
  const isGone = (name: string) =>
    eventually(`request ${name} is gone`, async () => !(await open().objects.exists(AccessRequest, ref(name))));
  /** The issuers in each control plane's current configuration. */
  const trusted = async (): Promise<string[]> => {
    const machines = await open().objects.machines(cluster);
    const texts = machines.map(({ status }) =>
      withTalosAdminClient(open(), cluster, status?.address ?? '', async (node) => {
        const config = await node.findResource(resourceKinds.machineConfig, 'v1alpha1');
        return [...new Set(String(config?.spec).match(/https:\/\/[a-z]+\.example\.org/g))].sort().join(' ');
      }),
    );
    return await Promise.all(texts);
  };
  const everywhere = (...names: string[]): string[] =>
    Array.from({ length: controlPlanes }, () => names.map(issuerOf).join(' '));
  const eventsOf = async (kind: string, reason: string): Promise<string[]> => {
    const { items } = await open().platform.list(Event);
    return items
      .filter((event) => event.involvedObject.kind === kind && event.reason === reason)
      .map(({ message }) => message);
  };

  prepareTestbed(open, async ({ objects, world }) => {
    world.machines.refusedIssuers.add(issuerOf('bad'));
    await objects.credentials();
    await objects.config('home', {
      controlPlanes,
      change: (spec) => {
        spec.talos['version'] = talosVersion;
      },
    });
    await objects.config('small', { controlPlanes: 1 });
    await objects.cluster(cluster);
    await objects.cluster(other, { config: 'small' });
    await isReady();
    await beside.isReady();
  });

  it('are rolled back on the first control plane and reported; other requests do not wait for that', async () => {
    await ask('bad');
    await eventually('the first control plane is told', async () =>
      (await trusted()).some((issuers) => issuers.includes('bad')),
    );
    const oidc = oidcAccess(issuerOf('good'), { roles: [], roleBindings: [] });
    await open().objects.request(beside.ref('good'), { clusterRef: other, oidc });
    await beside.isGranted('good');
    expect(await trusted()).toContain(issuerOf('bad'));
    const message = await rejection('bad', 'TrustReady', 'TrustFailed');
    expect(message).toMatch(
      /^spec\.oidc: the API server of \S+-cp-\S+ did not start with this configuration, which was rolled back\./,
    );
    await eventually('it is gone from the nodes', async () => (await trusted()).join('') === '');
    await isReady();
    expect(await eventsOf('Cluster', 'TrustRolledBack')).toHaveLength(1);
    expect(await eventsOf('AccessRequest', 'TrustFailed')).toEqual([message]);
  });

  it('do not block issuers requested at the same time, even if the provider is killed', async () => {
    await Promise.all((controlPlanes === 1 ? ['good'] : ['good', 'fine']).map((name) => ask(name)));
    await isGranted('good');
    await open().platform.merge(AccessRequest, ref('bad'), {
      spec: { oidc: { groupsClaim: 'roles' } },
    });
    if (controlPlanes > 1) {
      await ask('late');
      await eventually('a control plane tries it', async () => (await trusted()).some((all) => all.includes('bad')));
      await restartKilled(open());
      await isGranted('late');
      await rejection('bad', 'TrustReady', 'TrustFailed');
      await eventually('every control plane trusts the others', async () => {
        expect(await trusted()).toEqual(everywhere('fine', 'good', 'late'));
        return true;
      });
    } else expect(await rejection('bad', 'TrustReady', 'TrustRejected')).toContain('before Talos 1.14');
    await isReady();
  });

  it('are trusted after their correction, and released like any other', async () => {
    if (controlPlanes === 1) {
      await open().objects.remove(AccessRequest, ref('good'));
      await isGone('good');
    }
    await open().platform.merge(AccessRequest, ref('bad'), { spec: { oidc: { issuer: issuerOf('mended') } } });
    await isGranted('bad');
    expect((await trusted()).every((issuers) => issuers.includes('mended'))).toBe(true);
    await open().objects.remove(AccessRequest, ref('bad'));
    await isGone('bad');
    expect((await trusted()).join('')).not.toMatch(/mended|bad/);
    expect(open().faults()).toEqual([]);
  });
}

describe('one control plane with issuers in arguments', () =>
  takenBack({ subnet: '127.42.52', talosVersion: '1.13.9', controlPlanes: 1 }));
describe('three control planes with issuers in documents', () =>
  takenBack({ subnet: '127.42.53', talosVersion: '1.14.0', controlPlanes: 3 }));
