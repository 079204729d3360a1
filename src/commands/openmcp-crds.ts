import { neededOpenmcpCrds } from '../api/openmcp-crds.ts';
import { CustomResourceDefinition } from '../kube/core-types.ts';
import { isAlreadyExists } from '../kube/errors.ts';
import { awaitServed } from './install-crds.ts';
import { type InstallContext, persistently } from './install-owned.ts';

/**
 * Makes the kinds of openMCP that are missing, and waits until they are served. One that exists is never written: the
 * operator's own, of whatever version, are better than ours.
 */
export async function installOpenmcpCrds(options: InstallContext): Promise<void> {
  const { client, log, signal } = options;
  const persist = persistently(options);
  const missing = await persist(() => findMissing(options));
  for (const { metadata } of neededOpenmcpCrds) {
    if (!missing.some((crd) => crd.metadata.name === metadata.name))
      log.info({ crd: metadata.name }, 'kind of openMCP is there, and is left as it is');
  }
  for (const crd of missing) {
    const isMade = await persist(async () => {
      try {
        await client.create(CustomResourceDefinition, crd, signal);
        return true;
      } catch (error) {
        // An operator was faster, or an answer was lost.
        if (isAlreadyExists(error)) return false;
        throw error;
      }
    });
    const message = isMade ? 'kind of openMCP installed' : 'kind of openMCP came into being, and is left as it is';
    log.info({ crd: crd.metadata.name }, message);
  }
  await awaitServed({ ...options, crds: neededOpenmcpCrds });
}

/** Says which of them are missing: without them `run` waits for ever. */
export async function warnOfMissingOpenmcpCrds(options: InstallContext): Promise<void> {
  const missing = await persistently(options)(() => findMissing(options));
  for (const { metadata } of missing) {
    options.log.warn(
      { crd: metadata.name },
      'kind of openMCP is missing: install the openMCP operator, or start init with --with-openmcp-crds',
    );
  }
}

async function findMissing({ client, signal }: InstallContext): Promise<readonly CustomResourceDefinition[]> {
  const missing: CustomResourceDefinition[] = [];
  for (const crd of neededOpenmcpCrds) {
    const found = await client.find(CustomResourceDefinition, { name: crd.metadata.name }, signal);
    if (found === undefined) missing.push(crd);
  }
  return missing;
}
