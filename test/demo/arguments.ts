import { parseArgs } from 'node:util';
import { type DemoPlatform, demoScenarios } from './demo-scenarios.ts';

export interface DemoArguments {
  /** The platform of the cluster's machines. */
  readonly platform: DemoPlatform;
  /** `upgrade`: the running cluster is changed in every way, under load. */
  readonly story: DemoStory;
  /** Leave everything running until Ctrl-C. */
  readonly keep: boolean;
  /** An API server to use as the platform cluster instead of the simulated one. */
  readonly platformKubeconfig: string | undefined;
  /** The user's own objects instead of the samples. */
  readonly apply: string | undefined;
}

export const demoStories = ['lifecycle', 'upgrade'] as const;
export type DemoStory = (typeof demoStories)[number];

const demoPlatforms = Object.keys(demoScenarios) as readonly DemoPlatform[];

export const demoUsage = `npm run demo [-- FLAGS]

Makes a Talos cluster on simulated machines with the shipped program, uses it, and takes it down again.

  --platform NAME             ${demoPlatforms.join(' or ')}; default: ${demoPlatforms[0]}
  --story NAME                lifecycle, or upgrade: labels, Talos, Kubernetes and the number of nodes change while a
                              client counts its lost requests; default: lifecycle
  --keep                      leave everything running until Ctrl-C, and say how to look around
  --platform-kubeconfig FILE  use this API server as the platform cluster
  --apply FILE                apply your own objects instead of config/samples
  --help                      this text
`;

/** Parses the arguments after `npm run demo --`. Throws an Error with a sentence on an unknown argument. */
export function parseDemoArguments(words: readonly string[]): DemoArguments | 'help' {
  const { values } = parseArgs({
    args: [...words],
    options: {
      platform: { type: 'string', default: String(demoPlatforms[0]) },
      story: { type: 'string', default: demoStories[0] },
      keep: { type: 'boolean', default: false },
      'platform-kubeconfig': { type: 'string' },
      apply: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
    strict: true,
    allowPositionals: false,
  });
  if (values.help) return 'help';
  const platform = demoPlatforms.find((name) => name === values.platform);
  if (!platform) throw new Error(`--platform: there is no ${values.platform}. Say ${demoPlatforms.join(' or ')}.`);
  const story = demoStories.find((name) => name === values.story);
  if (!story) throw new Error(`--story: there is no ${values.story}. Say ${demoStories.join(' or ')}.`);
  if (story === 'upgrade' && values.apply !== undefined)
    throw new Error('--story upgrade changes the samples: omit --apply.');
  return { platform, story, keep: values.keep, platformKubeconfig: values['platform-kubeconfig'], apply: values.apply };
}
