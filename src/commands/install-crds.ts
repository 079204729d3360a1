import { openmcp } from '../api/names.ts';
import { CustomResourceDefinition } from '../kube/core-types.ts';
import { ProviderError } from '../lib/errors.ts';
import {
  endOf,
  ensureOwned,
  findOwned,
  type InstallContext,
  type Owned,
  type Persist,
  persistently,
} from './install-owned.ts';

export interface InstallOptions extends InstallContext {
  readonly crds: readonly CustomResourceDefinition[];
}

const owned = (object: CustomResourceDefinition): Owned => ({
  type: CustomResourceDefinition,
  object,
  label: openmcp.crdCluster,
  refusal: 'CRD_OWNED_BY_OTHERS',
  called: 'CRD',
});

/**
 * Makes every CRD so and waits until all are served. Looks first at all of them: if one belongs to somebody else,
 * nothing is changed and a `CRD_OWNED_BY_OTHERS` is thrown. Two of these at once do no harm: each writes only over
 * the version that it looked at, and looks again when it lost. Throws `CRD_NOT_ESTABLISHED` when patience ends.
 */
export async function installCrds(options: InstallOptions): Promise<void> {
  const endsAt = endOf(options);
  const persist = persistently(options, endsAt);
  for (const crd of options.crds) await persist(() => findOwned(owned(crd), options));
  for (const crd of options.crds) await persist(() => ensureOwned(owned(crd), options));
  await awaitServed(options, endsAt);
}

/** Waits until all are served. Throws `CRD_NOT_ESTABLISHED` when patience ends. */
export async function awaitServed(options: InstallOptions, endsAt = endOf(options)): Promise<void> {
  const persist = persistently(options, endsAt);
  for (const crd of options.crds) await awaitEstablished(crd, endsAt, options, persist);
}

async function awaitEstablished(
  { metadata: { name } }: CustomResourceDefinition,
  endsAt: number,
  { client, clock, signal }: InstallContext,
  persist: Persist,
): Promise<void> {
  for (;;) {
    const crd = await persist(() => client.get(CustomResourceDefinition, { name }, signal));
    const conditions = crd.status?.conditions ?? [];
    if (conditions.some((condition) => condition.type === 'Established' && condition.status === 'True')) return;
    if (clock.monotonic() >= endsAt) {
      const refusal = conditions.find((condition) => condition.status === 'False' && condition.message);
      throw new ProviderError(
        'CRD_NOT_ESTABLISHED',
        `${name}: ${refusal?.message ?? 'the API server gave no reason.'}`,
      );
    }
    await clock.sleep(250, signal);
  }
}
