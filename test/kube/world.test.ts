import { suite } from './suite.ts';
import { world } from './support/platform.ts';

suite(world);
