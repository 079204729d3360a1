/**
 * `npm run generate`: writes the generated files: the CRDs in `config/crd`, `docs/reference`, the picture of the
 * README, the index of decision records, and the Talos client in `src/talos/gen`. `test/contracts` checks that they are
 * up to date.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generateProto } from './generate-proto.ts';
import { generatedFiles, projectRoot } from './generated-files.ts';

for (const [path, content] of generatedFiles()) {
  mkdirSync(dirname(join(projectRoot, path)), { recursive: true });
  writeFileSync(join(projectRoot, path), content);
  process.stdout.write(`${path}\n`);
}
await generateProto();
process.stdout.write('src/talos/gen\n');
