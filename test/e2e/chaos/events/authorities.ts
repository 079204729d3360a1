import { isConditionTrue } from '../../../../src/api/conditions.ts';
import { annotations } from '../../../../src/api/names.ts';
import { Cluster } from '../../../../src/api/openmcp/types.ts';
import { readSecretsBundle } from '../../support/access/workload-cluster.ts';
import { type ChaosEvent, oneCluster } from '../event.ts';
import { refOf } from '../fleet-layout.ts';

export const authorityRotated: ChaosEvent = {
  name: 'rotation of a certificate authority',
  ...oneCluster(),
  async strike(fleet, target, number) {
    const ref = refOf({ name: target });
    const authority = number % 2 === 0 ? 'os' : 'kubernetes';
    const certificate = async () => (await readSecretsBundle(fleet.testbed, ref)).authorities[authority].certificate;
    const before = await certificate();
    const rotateCa = authority === 'os' ? 'talos' : 'kubernetes';
    await fleet.testbed.objects.annotate(Cluster, ref, { [annotations.rotateCa]: rotateCa });
    await fleet.until(
      `the authority ${rotateCa} of ${target} is another`,
      async () => {
        const { status } = await fleet.testbed.objects.getCluster(ref);
        return isConditionTrue(status?.conditions, 'CertificateAuthoritiesRotated') && (await certificate()) !== before;
      },
      240,
    );
  },
};
