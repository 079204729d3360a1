import { buildCrds } from '../../api/crd.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../api/openmcp/types.ts';
import { CustomResourceDefinition } from '../../kube/core-types.ts';
import type { BundleSession } from './bundle-session.ts';

/** `/version` of an API server. */
interface ServerVersion {
  readonly gitVersion?: string;
  readonly platform?: string;
}

/** Adds the versions of the program, the API server and the CustomResourceDefinitions. */
export async function collectVersions(session: BundleSession, release: string): Promise<void> {
  const { kube, files, signal, stopped } = session;
  const readVersion = async () => await kube.raw<ServerVersion>('GET', '/version', undefined, signal);
  const server = await files.attempt('version of the API server', readVersion, stopped);
  const crds: object[] = [];
  for (const name of crdNames()) {
    const crd = await files.attempt(
      `CustomResourceDefinition ${name}`,
      async () => await kube.find(CustomResourceDefinition, { name }, signal),
      stopped,
    );
    crds.push(crd ? summarizeCrd(crd) : { name, isMissing: true });
  }
  files.addYaml('versions.yaml', {
    program: release,
    node: process.version,
    platform: `${process.platform}/${process.arch}`,
    apiServer: { version: String(server?.gitVersion ?? '-'), platform: String(server?.platform ?? '-') },
    customResourceDefinitions: crds,
  });
}

const crdNames = (): string[] => [
  ...buildCrds().map(({ metadata }) => metadata.name),
  ...[Cluster, ClusterProfile, AccessRequest].map(({ plural, group }) => `${plural}.${group}`),
];

function summarizeCrd({ metadata, spec, status }: CustomResourceDefinition): object {
  const versions = Array.isArray(spec['versions']) ? (spec['versions'] as Record<string, unknown>[]) : [];
  return {
    name: metadata.name,
    created: metadata.creationTimestamp,
    generation: metadata.generation,
    versions: versions.map(({ name, served, storage }) => ({ name, served, storage })),
    conditions: (status?.conditions ?? []).map((one) => `${one.type}=${one.status}`),
  };
}
