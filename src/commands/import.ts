import { ProviderConfig } from '../api/provider-config.ts';
import { readInstallation } from '../controllers/shared/installation.ts';
import { ProviderError } from '../lib/errors.ts';
import { type AccessCommandContext, type AccessSession, withAccessSession } from './access/access-session.ts';
import type { ImportSettings } from './flags/access-settings.ts';
import { findObstacles } from './import/check-import.ts';
import { type ImportedCluster, readBackupFiles } from './import/read-files.ts';
import { writeImport } from './import/write-import.ts';
import type { CommandOutput } from './output/output-schemas.ts';
import { formatStructured } from './output/structured-output.ts';

/** A thousand Machines. */
const timeoutSeconds = 600;

/**
 * Brings a cluster back whose platform cluster was lost: creates its objects from a backup, so that the provider continues
 * with the machines that run. Nothing is created without `--confirm`, and nothing while there is an obstacle.
 */
export async function runImport(options: ImportSettings & AccessCommandContext): Promise<void> {
  const imported = await readBackupFiles(options.from);
  await withAccessSession({ ...options, timeoutSeconds }, async (session) => {
    const installation = await readInstallation(session, session.signal);
    const obstacles = await findObstacles(session, imported, installation);
    if (obstacles.length > 0) throw new ProviderError('IMPORT_REJECTED', obstacles.join(' '));
    const missing = await findMissingConfigs(session, imported);
    const created: string[] = [];
    const isText = options.output === 'text';
    if (options.confirm)
      await writeImport(session, imported, installation, (text) => {
        created.push(text);
        if (isText) options.print(`created ${text}`);
      });
    const output = toImportOutput(imported, { isImported: options.confirm, created, missingProviderConfigs: missing });
    options.print(isText ? describeResult(imported, output).join('\n') : formatStructured(output, options.output));
  });
}

function describeResult(imported: ImportedCluster, output: ImportOutput): readonly string[] {
  const notes = output.missingProviderConfigs.map(
    (name) =>
      `ProviderConfig ${name} does not exist: create it, and the Secrets that it names, before the provider starts.`,
  );
  return output.isImported
    ? [`Imported Cluster ${nameOf(imported)}.`, ...notes, 'Start the provider.']
    : [describeImport(imported), ...notes, confirmation];
}

type ImportOutput = CommandOutput<'import'>;

const toImportOutput = (
  { objects, secrets }: ImportedCluster,
  result: Pick<ImportOutput, 'isImported' | 'created' | 'missingProviderConfigs'>,
): ImportOutput => ({
  ...{ namespace: objects.cluster.metadata.namespace, name: objects.cluster.metadata.name, time: objects.time },
  ...{ secrets: secrets.length, machines: objects.machines.length, hosts: objects.hosts.length },
  ...{ nodePools: objects.nodePools.length, addresses: objects.addresses.length },
  ...result,
});

const nameOf = ({ objects }: ImportedCluster): string =>
  `${objects.cluster.metadata.namespace}/${objects.cluster.metadata.name}`;

function describeImport(imported: ImportedCluster): string {
  const { time, machines, hosts, nodePools, addresses } = imported.objects;
  const counts = [
    `${imported.secrets.length} Secrets`,
    `${machines.length} Machines`,
    `${hosts.length} Hosts`,
    `${nodePools.length} NodePools`,
    `${addresses.length} addresses`,
  ];
  return `Cluster ${nameOf(imported)} as it was at ${time}: ${counts.join(', ')}. No machine is touched.`;
}

const confirmation =
  'The former platform cluster must never run again: both would act on the same machines. If that is certain, repeat the command with --confirm.';

/** ProviderConfigs that the cluster needs: no backup has them. */
async function findMissingConfigs({ kube, signal }: AccessSession, { objects }: ImportedCluster): Promise<string[]> {
  const names = new Set(objects.machines.map(({ spec }) => spec.providerConfigRef.name));
  const missing: string[] = [];
  for (const name of names) if (!(await kube.find(ProviderConfig, { name }, signal))) missing.push(name);
  return missing;
}
