import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ProviderConfigSpec } from '../../src/api/provider-config-spec.ts';
import { PublishSchema } from '../../src/api/schema/publish-schema.ts';
import { readProjectFile } from './source-tree.ts';

/** The examples of the guide in one language. */
const examples = (language: string): string[] =>
  [...readProjectFile('docs/publish.md').matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, text = '']) => text,
  );

describe('the examples of docs/publish.md', () => {
  it('have a section that the API accepts', () => {
    const [config] = examples('yaml').map((text) => parse(text) as { kind: string; spec: { publish: object } });
    expect(config?.kind).toBe('ProviderConfig');
    const publish = PublishSchema.parse(config?.spec.publish);
    expect(Object.keys(publish).sort()).toEqual(['argoCD', 'clusterProfile', 'clusters', 'kubeconfigSecret']);
    expect(ProviderConfigSpec.shape.publish.parse(publish)).toEqual(publish);
  });

  it('M19: have a provider file that names the access provider of a profile, and hands it the cluster', () => {
    const [text = ''] = examples('json');
    const { providers } = JSON.parse(text) as {
      providers: { name: string; execConfig: { apiVersion: string; command: string; provideClusterInfo: boolean } }[];
    };
    const section = { namespace: 'fleet', clusterRole: 'view' };
    const { clusterProfile } = PublishSchema.parse({ clusterProfile: section });
    expect(providers.map(({ name }) => name)).toEqual([clusterProfile?.accessProvider]);
    for (const { execConfig } of providers) {
      expect(execConfig.apiVersion).toBe('client.authentication.k8s.io/v1');
      expect(execConfig.command).toMatch(/^\//);
      expect(execConfig.provideClusterInfo).toBe(true);
    }
  });
});
