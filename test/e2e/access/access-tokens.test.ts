import { describe, expect, it } from 'vitest';
import { openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest } from '../../../src/api/openmcp/types.ts';
import { ClusterRole, Secret } from '../../../src/kube/core-types.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { accessHelpers, coreReadRules } from '../support/access/access-helpers.ts';
import { accessSecret, ConfigMap, grantedKubeconfig } from '../support/access/workload-cluster.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** The provider's waits are so long here that a prompt reaction proves a watch event as its cause. */
const open = startTestbed({ subnet: '127.42.141', speed: 3 });
const cluster = { namespace: 'shop', name: 'main' };
const { admin, ask, granted, isReady, ref } = accessHelpers(open, cluster);

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home');
  await objects.cluster(cluster);
  await isReady();
});

/** Writes the token's creation and expiry into a granted Secret, in seconds from now. */
async function setTimes(name: string, created: number, expires: number): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const encode = (seconds: number): string => Buffer.from(String(now + seconds)).toString('base64');
  const data = { creationTimestamp: encode(created), expirationTimestamp: encode(expires) };
  await open().platform.merge(Secret, ref(`${name}.kubeconfig`), { data });
}

/** Waits until the Secret of a request holds a token other than `before`, valid for another month. */
async function isRenewed(name: string, before: string): Promise<void> {
  await eventually(`the token of ${name} is renewed`, async () => {
    const now = await grantedKubeconfig(open(), ref(name));
    return now !== '' && now !== before;
  });
  const { data } = await accessSecret(open(), ref(name));
  const ends = Number(Buffer.from(data?.['expirationTimestamp'] ?? '', 'base64').toString());
  expect(ends - Date.now() / 1000).toBeGreaterThan(29 * 24 * 3600);
  expect(await ask(name, (holder) => holder.list(ConfigMap))).toBe('allowed');
}

describe('a token', () => {
  const day = 24 * 3600;
  const token = { permissions: [{ rules: coreReadRules('configmaps') }] };

  it('C64: comes back with its Secret after the deletion of the Secret', async () => {
    await granted('lasting', token);
    const before = await grantedKubeconfig(open(), ref('lasting'));
    await open().objects.remove(Secret, ref('lasting.kubeconfig'));
    await eventually('the Secret is back', () => open().objects.exists(Secret, ref('lasting.kubeconfig')));
    await isRenewed('lasting', before);
  });

  it('C59, C60: is renewed after four fifths of its lifetime, and not before', async () => {
    await granted('ageing', token);
    const before = await grantedKubeconfig(open(), ref('ageing'));
    await setTimes('ageing', -20 * day, 10 * day);
    await consistently(1, async () => expect(await grantedKubeconfig(open(), ref('ageing'))).toBe(before));
    await setTimes('ageing', -25 * day, 5 * day);
    await isRenewed('ageing', before);
  });

  it('is renewed by the clock, without any change of an object', async () => {
    await granted('ticking', token);
    const before = await grantedKubeconfig(open(), ref('ticking'));
    // Four fifths of these thousand seconds are over in three.
    await setTimes('ticking', -797, 203);
    await isRenewed('ticking', before);
  });

  it('is renewed by a provider that was stopped when it was due', async () => {
    await granted('forgotten', token);
    const before = await grantedKubeconfig(open(), ref('forgotten'));
    await open().provider.stop();
    await setTimes('forgotten', -40 * day, -10 * day);
    open().provider.start();
    await isRenewed('forgotten', before);
  });
});

describe('the operation annotation', () => {
  it('C46: suspends the reconcile with `ignore`, and renews the token with `reconcile`', async () => {
    const { objects, platform } = open();
    await granted('ordered', { permissions: [{ name: 'ordered', rules: coreReadRules('configmaps') }] });
    await objects.annotate(AccessRequest, ref('ordered'), { [openmcpKeys.operation]: 'ignore' });
    const before = await platform.get(Secret, ref('ordered.kubeconfig'));
    await objects.remove(Secret, ref('ordered.kubeconfig'));
    await consistently(1, async () => expect(await objects.exists(Secret, ref('ordered.kubeconfig'))).toBe(false));
    await objects.annotate(AccessRequest, ref('ordered'), { [openmcpKeys.operation]: null });
    const back = await eventually('the Secret is back', () => platform.find(Secret, ref('ordered.kubeconfig')));
    expect(back.data).not.toEqual(before.data);
    await admin((kube) => kube.merge(ClusterRole, { name: 'ordered' }, { rules: coreReadRules('secrets') }));
    await objects.annotate(AccessRequest, ref('ordered'), { [openmcpKeys.operation]: 'reconcile' });
    await isRenewed('ordered', Buffer.from(back.data?.['kubeconfig'] ?? '', 'base64').toString());
    const { metadata } = await objects.getRequest(ref('ordered'));
    expect(metadata.annotations ?? {}).not.toHaveProperty([openmcpKeys.operation]);
    const { rules } = await admin((kube) => kube.get(ClusterRole, { name: 'ordered' }));
    expect(rules).toEqual(coreReadRules('configmaps'));
  });
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});

it('no token or key appears in any log line, event, status or condition', () => {
  expect(findSecretLeaks(open())).toEqual([]);
});
