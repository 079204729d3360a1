import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { findPeer, missingPeers } from '../peers/find-peer.ts';
import { missingForRealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { projectRoot } from '../setup/generated-files.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import { chartObjects, onlyOne, type Rendered } from './rendered-chart.ts';
import { projectFiles, readProjectFile } from './source-tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'kustomize-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const kubectl = (...words: string[]): string =>
  execFileSync(findPeer('kubectl') ?? 'kubectl', words, { encoding: 'utf8', stdio: 'pipe' });
const build = (path: string): Rendered[] =>
  parseAllDocuments(kubectl('kustomize', path)).map((document) => document.toJS());

/** The Deployment's Pod, with the values of the settings in place of their variables. */
function resolvedPod(objects: readonly Rendered[]): Rendered {
  const { data, metadata } = onlyOne(objects, 'ConfigMap');
  const { spec } = onlyOne(objects, 'Deployment').spec.template;
  for (const container of [...spec.initContainers, ...spec.containers]) {
    const settings = container.env.filter((entry: Rendered) => entry.valueFrom.configMapKeyRef);
    for (const { name, valueFrom } of settings) {
      expect(valueFrom.configMapKeyRef.name).toBe(metadata.name);
      const value = data[valueFrom.configMapKeyRef.key];
      container.args = container.args.map((word: string) => word.replace(`$(${name})`, value));
    }
    container.env = container.env.filter((entry: Rendered) => !settings.includes(entry));
  }
  return spec;
}

test('every file of the Kustomize base exists', () => {
  const { resources } = parse(readProjectFile('config/kustomization.yaml')) as { resources: string[] };
  expect(resources.filter((path) => !projectFiles.includes(`config/${path}`))).toEqual([]);
});

describeUnlessMissing('the Kustomize base', missingPeers('kubectl'), () => {
  const base = (): Rendered[] => build(join(projectRoot, 'config'));
  const overlay = (): Rendered[] => {
    const [, text = ''] = /^## With Kustomize$.*?^```yaml\n(.*?)^```/ms.exec(readProjectFile('docs/install.md')) ?? [];
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      text.replace('…/config', relative(folder, join(projectRoot, 'config'))),
    );
    return build(folder);
  };

  test('refers only to objects of its own', () => {
    const objects = base();
    const names = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    const { serviceAccountName } = onlyOne(objects, 'Deployment').spec.template.spec;
    expect(names).toContain(`ServiceAccount ${serviceAccountName}`);
    for (const { roleRef, subjects } of objects.filter(({ kind }) => String(kind).endsWith('Binding'))) {
      expect(names).toContain(`${roleRef.kind} ${roleRef.name}`);
      expect(subjects[0].name).toBe(serviceAccountName);
    }
  });

  test('changes with the overlay of the installation page', () => {
    const { initContainers, containers } = resolvedPod(overlay());
    for (const { args, image } of [...initContainers, ...containers]) {
      expect(args).toContain('--environment=demo');
      expect(image).toBe('registry.example.org/cluster-provider-talos:0.1.0');
    }
    expect(initContainers[0].args).toContain('--with-openmcp-crds=true');
  });

  test('names its settings by their content, so that a change restarts the Pods', () => {
    const [one, other] = [base(), overlay()].map((objects) => onlyOne(objects, 'ConfigMap').metadata.name);
    expect(one).not.toBe(other);
  });

  describeUnlessMissing('and the chart', missingPeers('helm'), () => {
    test('run the same Pod', () => {
      const helm = onlyOne(chartObjects('fullnameOverride="cluster-provider-talos"'), 'Deployment').spec;
      const pod = resolvedPod(base());
      // The chart leaves out what is the default of the flag.
      pod.initContainers[0].args = pod.initContainers[0].args.filter(
        (word: string) => word !== '--with-openmcp-crds=false',
      );
      expect(pod).toEqual(helm.template.spec);
      expect(onlyOne(base(), 'Deployment').spec.replicas).toBe(helm.replicas);
    });
  });

  describeUnlessMissing('on a real API server', missingForRealKube(), () => {
    test('is accepted without a warning, in a restricted namespace', async () => {
      const kube = await startRealKube();
      try {
        const words = ['apply', '--warnings-as-errors', '-k', join(projectRoot, 'config')];
        const lines = kubectl(`--kubeconfig=${kube.kubeconfigPath}`, ...words)
          .trim()
          .split('\n');
        expect(lines).toHaveLength(base().length);
      } finally {
        await kube.close();
      }
    });
  });
});
