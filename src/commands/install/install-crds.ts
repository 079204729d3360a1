import { openmcpKeys } from '../../api/names.ts';
import { CustomResourceDefinition } from '../../kube/core-types.ts';
import { ProviderError } from '../../lib/errors.ts';
import {
  applyOwnedObject,
  createRetry,
  findOwnedObject,
  type InstallContext,
  installDeadline,
  type OwnedObject,
  type RetryUntilDeadline,
} from './owned-object.ts';

export interface InstallCrdsOptions extends InstallContext {
  readonly crds: readonly CustomResourceDefinition[];
}

const toOwnedCrd = (object: CustomResourceDefinition): OwnedObject => ({
  type: CustomResourceDefinition,
  object,
  label: openmcpKeys.crdCluster,
  rejectionReason: 'CRD_OWNED_BY_OTHERS',
  called: 'CRD',
});

/**
 * Applies every CRD and waits until all are established. All CRDs are read first: if one has another owner, nothing is
 * changed and `CRD_OWNED_BY_OTHERS` is thrown. Concurrent runs are safe: each writes only over the version that it has
 * read, and retries after a conflict. Throws `CRD_NOT_ESTABLISHED` at the deadline.
 */
export async function installCrds(options: InstallCrdsOptions): Promise<void> {
  const endsAt = installDeadline(options);
  const persist = createRetry(options, endsAt);
  for (const crd of options.crds) await persist(() => findOwnedObject(toOwnedCrd(crd), options));
  for (const crd of options.crds) await persist(() => applyOwnedObject(toOwnedCrd(crd), options));
  await waitForCrds(options, endsAt);
}

/** Waits until all CRDs are established. Throws `CRD_NOT_ESTABLISHED` at the deadline. */
export async function waitForCrds(options: InstallCrdsOptions, endsAt = installDeadline(options)): Promise<void> {
  const persist = createRetry(options, endsAt);
  for (const crd of options.crds) await waitForCrd(crd, endsAt, options, persist);
}

async function waitForCrd(
  { metadata: { name } }: CustomResourceDefinition,
  endsAt: number,
  { client, clock, signal }: InstallContext,
  persist: RetryUntilDeadline,
): Promise<void> {
  for (;;) {
    const crd = await persist(() => client.get(CustomResourceDefinition, { name }, signal));
    const conditions = crd.status?.conditions ?? [];
    if (conditions.some((condition) => condition.type === 'Established' && condition.status === 'True')) return;
    if (clock.monotonic() >= endsAt) {
      const rejection = conditions.find((condition) => condition.status === 'False' && condition.message);
      throw new ProviderError(
        'CRD_NOT_ESTABLISHED',
        `${name}: ${rejection?.message ?? 'the API server gave no reason.'}`,
      );
    }
    await clock.sleep(250, signal);
  }
}
