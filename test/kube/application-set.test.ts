import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { type CustomResourceDefinition, Namespace } from '../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { goModuleVersion } from '../peers/find-peer.ts';
import { startKubeWithCrds } from '../support/harness/kube-with-crds.ts';

/** Go's module cache has the sources of Argo CD once its reader of clusters was built. */
const module = 'github.com/argoproj/argo-cd/v3';
const modules = process.env['GOMODCACHE'] ?? join(process.env['GOPATH'] ?? join(homedir(), 'go'), 'pkg', 'mod');
const definition = join(
  modules,
  `${module}@v${goModuleVersion(module, 'argo-cd/go.mod')}`,
  'manifests/crds/applicationset-crd.yaml',
);
const missing = existsSync(definition)
  ? undefined
  : 'The definition of ApplicationSets is not here: `npx tsx test/peers/build.ts` fetches it where Go is installed.';

interface ApplicationSet extends KubeObject {
  readonly spec: { readonly template: { readonly spec: { readonly destination?: object } } };
}
const ApplicationSet: ResourceType<ApplicationSet> = {
  ...{ group: 'argoproj.io', version: 'v1alpha1', kind: 'ApplicationSet', plural: 'applicationsets', namespaced: true },
};

/** The example of the guide. */
function readExample(): ApplicationSet {
  const guide = readFileSync('docs/publish.md', 'utf8');
  const objects = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => parse(text) as ApplicationSet);
  const example = objects.find(({ kind }) => kind === ApplicationSet.kind);
  if (!example) throw new Error('docs/publish.md has no ApplicationSet');
  return example;
}

it('the ApplicationSet of docs/publish.md is one that Argo CD defines, and has no field that it does not know', async ({
  skip,
}) => {
  if (missing) skip(missing);
  const server = await startKubeWithCrds([parse(readFileSync(definition, 'utf8')) as CustomResourceDefinition]);
  try {
    const { kube } = server;
    await kube.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
    const example = readExample();
    expect(await kube.create(ApplicationSet, example)).toMatchObject({ spec: example.spec });
    const { destination: _, ...incomplete } = example.spec.template.spec;
    const metadata = { ...example.metadata, name: 'incomplete' };
    const spec = { ...example.spec, template: { ...example.spec.template, spec: incomplete } };
    await expect(kube.create(ApplicationSet, { ...example, metadata, spec })).rejects.toThrow(/destination/);
  } finally {
    await server.close();
  }
});
