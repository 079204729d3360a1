import { suite } from './suite.ts';
import { k3s } from './support/platform.ts';

suite(await k3s());
