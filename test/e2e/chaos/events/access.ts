import { AccessRequest } from '../../../../src/api/openmcp/types.ts';
import { Secret } from '../../../../src/kube/core-types.ts';
import { accessSecret } from '../../support/access/workload-cluster.ts';
import { type ChaosEvent, oneCluster } from '../event.ts';
import { refOf } from '../fleet-layout.ts';

const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];
const requestOf = (cluster: string, number: number) => ({ namespace: 'fleet', name: `${cluster}-${number % 3}` });

/** Each cluster has up to three. */
export const accessRequested: ChaosEvent = {
  name: 'an AccessRequest is created, or deleted if it exists',
  ...oneCluster(),
  async strike(fleet, target, number) {
    const { objects } = fleet.testbed;
    const ref = requestOf(target, number);
    if (!(await objects.exists(AccessRequest, ref))) {
      await objects.request(ref, { clusterRef: refOf({ name: target }), token: { permissions: [{ rules }] } });
      return;
    }
    await objects.remove(AccessRequest, ref);
    await fleet.until(`${ref.name} is gone`, async () => !(await objects.exists(AccessRequest, ref)));
  },
};

export const accessRenewed: ChaosEvent = {
  name: 'the Secret of an AccessRequest is deleted and made again',
  ...oneCluster(),
  async strike(fleet, target, number) {
    const { objects, platform } = fleet.testbed;
    const ref = requestOf(target, number);
    if (!(await objects.exists(AccessRequest, ref)))
      await objects.request(ref, { clusterRef: refOf({ name: target }), token: { permissions: [{ rules }] } });
    await fleet.until(
      `${ref.name} is granted`,
      async () => (await objects.getRequest(ref)).status?.phase === 'Granted',
    );
    const { metadata } = await accessSecret(fleet.testbed, ref);
    await platform.remove(Secret, { namespace: ref.namespace, name: metadata.name });
    await fleet.until(`the Secret of ${ref.name} is made again`, async () => {
      const again = await accessSecret(fleet.testbed, ref).catch(() => undefined);
      return again !== undefined && again.metadata.uid !== metadata.uid;
    });
  },
};
