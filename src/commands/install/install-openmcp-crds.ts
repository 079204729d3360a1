import { requiredOpenmcpCrds } from '../../api/openmcp/crds.ts';
import { CustomResourceDefinition } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { waitForCrds } from './install-crds.ts';
import { createRetry, type InstallContext } from './owned-object.ts';

/**
 * Creates the missing openMCP CRDs and waits until they are established. An existing CRD is never written: the
 * operator's own version takes precedence.
 */
export async function installOpenmcpCrds(options: InstallContext): Promise<void> {
  const { client, log, signal } = options;
  const persist = createRetry(options);
  const missing = await persist(() => findMissingCrds(options));
  for (const { metadata } of requiredOpenmcpCrds) {
    if (!missing.some((crd) => crd.metadata.name === metadata.name))
      log.info({ crd: metadata.name }, 'openMCP CRD exists and is not changed');
  }
  for (const crd of missing) {
    const isMade = await persist(async () => {
      try {
        await client.create(CustomResourceDefinition, crd, signal);
        return true;
      } catch (error) {
        // An operator created it first, or the response to an earlier try was lost.
        if (isAlreadyExists(error)) return false;
        throw error;
      }
    });
    const message = isMade ? 'openMCP CRD installed' : 'openMCP CRD was created by another client and is not changed';
    log.info({ crd: crd.metadata.name }, message);
  }
  await waitForCrds({ ...options, crds: requiredOpenmcpCrds });
}

/** Logs which of them are missing: without them `run` waits forever. */
export async function warnAboutMissingOpenmcpCrds(options: InstallContext): Promise<void> {
  const missing = await createRetry(options)(() => findMissingCrds(options));
  for (const { metadata } of missing) {
    options.log.warn(
      { crd: metadata.name },
      'openMCP CRD is missing: install the openMCP operator, or run init with --with-openmcp-crds',
    );
  }
}

async function findMissingCrds({ client, signal }: InstallContext): Promise<readonly CustomResourceDefinition[]> {
  const missing: CustomResourceDefinition[] = [];
  for (const crd of requiredOpenmcpCrds) {
    const found = await client.find(CustomResourceDefinition, { name: crd.metadata.name }, signal);
    if (found === undefined) missing.push(crd);
  }
  return missing;
}
